// Light or dark: as the system has it, until the button says otherwise.

const SUNS = { light: "☾", dark: "☀" };

export function followTheme(button) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const now = () => chosen ?? (system.matches ? "dark" : "light");
  const apply = () => {
    document.documentElement.dataset.theme = now();
    button.textContent = SUNS[now()];
  };
  system.addEventListener("change", apply);
  button.addEventListener("click", () => {
    chosen = now() === "dark" ? "light" : "dark";
    apply();
  });
  apply();
}
