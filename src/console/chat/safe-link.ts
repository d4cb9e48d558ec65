/** How a link of a model may be shown. */
export type SafeLink =
  | {
      readonly kind: "link";
      readonly href: string;
      /** Shown beside the words, so that nobody is led elsewhere than they think. */
      readonly host: string;
      /** Its path and query could carry away what was said, so the reader is asked first. */
      readonly asks: boolean;
    }
  | { readonly kind: "text" };

const MAX_SILENT = 64;
const PICTURE = /^data:image\/(?:png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+={0,2}$/;

/** Allows http(s) and mailto with an address of its own; everything else stays text. */
export function safeLink(href: string): SafeLink {
  // Browsers leave out tabs and line ends within an address, readers do not see them.
  if (/[\0-\x20\x7f]/.test(href)) return { kind: "text" };
  let url: URL;
  try {
    url = new URL(href);
  } catch {
    return { kind: "text" };
  }
  if (url.protocol === "mailto:") {
    const asks = url.search !== "" || url.pathname.length > MAX_SILENT;
    return { kind: "link", href: url.href, host: "", asks };
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return { kind: "text" };
  // `https://bank.example@elsewhere.example` leads elsewhere.
  if (url.username !== "" || url.password !== "") return { kind: "text" };
  const carried = url.pathname.length + url.search.length + url.hash.length;
  // A host's name can carry words too: a label is 63 characters at most, and a few are enough for a name.
  const asks = carried > MAX_SILENT || url.hostname.length > MAX_SILENT;
  return { kind: "link", href: url.href, host: url.host, asks };
}

/** Pictures are shown only where they are in the answer itself; undefined is for a card that names the host. */
export function safePicture(href: string): string | undefined {
  return PICTURE.test(href) ? href : undefined;
}

/** The host of an address, for a card; the whole text where it has none, shortened. */
export function hostOf(href: string): string {
  try {
    return new URL(href).host || href.slice(0, MAX_SILENT);
  } catch {
    return href.slice(0, MAX_SILENT);
  }
}
