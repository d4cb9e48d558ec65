/*
 * Sets the theme before the first paint: a classic script in `head`, because the policy allows no inline one. It shares
 * nothing with the modules but the name under which the choice is kept, `console.theme`: "light" or "dark", else the
 * system decides.
 */
(() => {
  let kept: string | null = null;
  try {
    kept = localStorage.getItem("console.theme");
  } catch {
    // A browser that keeps nothing follows the system.
  }
  if (kept === "light" || kept === "dark") document.documentElement.dataset["theme"] = kept;
})();
