import { request } from "node:http";

interface Cookie {
  readonly value: string;
  readonly path: string;
  readonly isStrict: boolean;
}

/** What a browser shows in the end. */
export interface Shown {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Every address on the way. */
  readonly way: readonly string[];
}

const HOPS_MAX = 20;

/**
 * Follows redirects and refreshing pages and keeps cookies as browsers do: each origin is a site of its own, and a
 * navigation that another site has any part in carries no `SameSite=Strict` cookie.
 */
export class Browser {
  /** The client's, for a server that believes one proxy. */
  readonly address: string;

  constructor(address: string) {
    this.address = address;
  }

  readonly #jars = new Map<string, Map<string, Cookie>>();

  cookie(origin: string, name: string): string | undefined {
    return this.#jars.get(origin)?.get(name)?.value;
  }

  setCookie(origin: string, line: string): void {
    const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
    const [name = "", value = ""] = pair.split(/=(.*)/s);
    const jar = this.#jars.get(origin) ?? new Map<string, Cookie>();
    this.#jars.set(origin, jar);
    const attribute = (wanted: string) =>
      attributes.find((one) => one.toLowerCase().startsWith(wanted))?.split("=")[1];
    if (attribute("max-age=") === "0" || value === "") return void jar.delete(name);
    const isStrict = attribute("samesite=")?.toLowerCase() === "strict";
    jar.set(name, { value, path: attribute("path=") ?? "/", isStrict });
  }

  /**
   * Opens an address.
   *
   * @param from the origin of the page with the link; undefined: typed, or a bookmark.
   * @param until stops before an address for which it is true.
   */
  async open(
    address: string,
    from?: string,
    until: (url: URL) => boolean = () => false,
  ): Promise<Shown> {
    let url = new URL(address);
    let sites = from === undefined ? [] : [from];
    const way: string[] = [];
    for (let hops = 0; hops < HOPS_MAX; hops += 1) {
      way.push(url.href);
      const isCross = sites.some((site) => site !== url.origin);
      const response = await load(url, {
        accept: "text/html",
        cookie: this.#header(url, isCross),
        "x-forwarded-for": this.address,
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "document",
      });
      for (const line of response.headers.getSetCookie()) this.setCookie(url.origin, line);
      const text = await response.text();
      const location = response.headers.get("location");
      const refreshed = /http-equiv="refresh" content="0; url=([^"]*)"/.exec(text)?.[1];
      const shown = { url, status: response.status, headers: response.headers, text, way };
      const next = location ?? refreshed?.replaceAll("&#38;", "&");
      if (next === undefined) return shown;
      // A refresh is a navigation of the page itself.
      sites = location === null ? [url.origin] : [...sites, url.origin];
      const target = new URL(next, url);
      if (until(target)) return { ...shown, url: target };
      url = target;
    }
    throw new Error(`the browser is sent around: ${way.join(" ")}`);
  }

  /** The cookies that a request from the site's own page carries. */
  cookieHeader(url: URL): string {
    return this.#header(url, false);
  }

  #header(url: URL, isCross: boolean): string {
    const jar = [...(this.#jars.get(url.origin) ?? [])];
    return jar
      .filter(([, { path, isStrict }]) => url.pathname.startsWith(path) && !(isStrict && isCross))
      .map(([name, { value }]) => `${name}=${value}`)
      .join("; ");
  }
}

/** Not by `fetch`, which says in its own words that it is no navigation. */
export function load(url: URL, headers: Readonly<Record<string, string>>): Promise<Response> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers, agent: false }, (message) => {
      const chunks: Buffer[] = [];
      message.on("data", (chunk: Buffer) => chunks.push(chunk));
      message.on("error", reject);
      message.on("end", () => {
        const kept = new Headers();
        for (const [name, values] of Object.entries(message.headersDistinct)) {
          for (const value of values ?? []) kept.append(name, value);
        }
        const status = message.statusCode ?? 0;
        resolve(new Response(Buffer.concat(chunks), { status, headers: kept }));
      });
    });
    asked.on("error", reject);
    asked.end();
  });
}
