// Ask the server; what it refuses is an error, which may know at which field to say so.

class Refusal extends Error {
  constructor({ error, field = null, at_field = error }) {
    super(error);
    Object.assign(this, { field, atField: at_field });
  }
}

export async function ask(path) {
  const found = await (await send(path)).json();
  if (found.error) throw new Refusal(found);
  return found;
}

// A trace and its text, after lines that say how far it is, which are `told` to whoever waits.
export async function askForTrace(question, told, signal) {
  const headers = { "Content-Type": "application/json", Accept: "application/x-ndjson" };
  const answer = await send("api/solve", { method: "POST", headers, body: question, signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    text += value ?? "";
    const lines = text.split("\n");
    text = done ? "" : lines.pop();
    for (const line of lines.filter(Boolean)) {
      const found = JSON.parse(line);
      if (found.error) throw new Refusal(found);
      if (found.features) return { text: line, trace: found };
      told(found);
    }
    if (done) throw unanswered();
  }
}

async function send(path, how) {
  try {
    return await fetch(path, how);
  } catch (error) {
    throw error.name === "AbortError" ? error : unanswered();
  }
}

function unanswered() {
  return new Error("The server does not answer: is `algorist view` still running?");
}
