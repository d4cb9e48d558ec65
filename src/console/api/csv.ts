import { unwrap } from "./errors.ts";

export interface LoadedCsv {
  readonly text: string;
  /** False: there are more rows than were asked for. */
  readonly isWhole: boolean;
}

interface Loading {
  /** A file has at most so many pages of the server. */
  readonly mostPages: number;
  readonly signal: AbortSignal;
  /** Called after each page with their number. */
  readonly onPage?: (pages: number) => void;
}

const NEXT = /^<(.*)>; rel="next"$/;

/**
 * Returns a table as the server writes it, page after page, under one head.
 *
 * @param address a path with its query, of which the answer is CSV.
 */
export async function loadCsv(address: string, loading: Loading): Promise<LoadedCsv> {
  const { mostPages, signal, onPage } = loading;
  const pages: string[] = [];
  let next: string | undefined = address;
  while (next !== undefined && pages.length < mostPages) {
    const { text, link } = await loadPage(next, signal);
    pages.push(pages.length === 0 ? text : withoutHead(text));
    onPage?.(pages.length);
    next = NEXT.exec(link ?? "")?.[1];
  }
  return { text: pages.join(""), isWhole: next === undefined };
}

async function loadPage(address: string, signal: AbortSignal) {
  const call = async () => {
    const response = await fetch(address, { signal, credentials: "same-origin" });
    if (!response.ok) return { response, error: await response.json().catch(() => undefined) };
    const data = { text: await response.text(), link: response.headers.get("link") };
    return { response, data };
  };
  return await unwrap<{ readonly text: string; readonly link: string | null }>(call());
}

/** Names of columns have no line breaks. */
function withoutHead(text: string): string {
  return text.slice(text.indexOf("\n") + 1);
}
