/** The state of a view in its address: flat names and texts, and nothing that has its default. */

export type UrlState = Readonly<Record<string, string>>;

/** Reads `?state=active&search=ada`; of a repeated name the last value counts. */
export function parseSearch(text: string): UrlState {
  return Object.fromEntries(new URLSearchParams(text));
}

/** Writes a state as `?state=active`, or nothing. Empty values are left out. */
export function stringifySearch(state: Readonly<Record<string, unknown>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (value !== undefined && value !== null && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

/** Returns the state of a view: what the address says of the names in `defaults`, else the default. */
export function readState<State extends UrlState>(search: UrlState, defaults: State): State {
  const entries = Object.entries(defaults).map(([name, value]) => [name, search[name] ?? value]);
  return Object.fromEntries(entries);
}

/** Returns the address's state after a change. What equals its default leaves the address. */
export function changeState<State extends UrlState>(
  search: UrlState,
  defaults: State,
  change: Partial<State>,
): UrlState {
  const next = Object.entries<string | undefined>({ ...search, ...change }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== defaults[entry[0]],
  );
  return Object.fromEntries(next);
}

/** Returns a path of this console to go on to after a login; anything else is `undefined`. */
export function readNext(next: string | undefined, base: string): string | undefined {
  if (next === undefined || !next.startsWith("/") || /^\/[/\\]/.test(next)) return undefined;
  const url = new URL(next, "http://console.invalid");
  const isInside = url.origin === "http://console.invalid" && url.pathname.startsWith(base);
  return isInside ? `${url.pathname}${url.search}` : undefined;
}
