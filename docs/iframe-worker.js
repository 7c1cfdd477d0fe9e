// The search runs in a worker, which browsers deny to pages that are opened as files.
// There, a hidden frame does what a worker would.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.documentElement.append(frame)
      this.scope = frame.contentWindow
      this.scope.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = frame.contentDocument.createElement("script")
      script.src = url
      this.ready = new Promise(resolve => script.addEventListener("load", resolve))
      frame.contentDocument.head.append(script)
    }

    async postMessage(data) {
      await this.ready
      this.scope.dispatchEvent(new MessageEvent("message", { data }))
    }
  }
}
