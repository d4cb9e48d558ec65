/** No script, nothing from elsewhere, and no page of another site around it. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export interface SignInPage {
  readonly title: string;
  readonly text: string;
  /** Where the link leads: a path of this server. */
  readonly link: { readonly path: string; readonly text: string };
  /**
   * The browser follows the link by itself. A page and not a redirect: a redirect that began at the provider would not
   * carry the session's cookie, which is sent only from this site.
   */
  readonly follows?: boolean;
}

/** Builds a page of a browser's sign-in, which no cache may store. */
export function signInPage(status: number, page: SignInPage): Response {
  const { title, text, link, follows = false } = page;
  const path = escapeHtml(link.path);
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
${follows ? `<meta http-equiv="refresh" content="0; url=${path}">\n` : ""}<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto; padding: 0 1rem; color-scheme: light dark }
</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text)}</p>
<p><a href="${path}">${escapeHtml(link.text)}</a></p>
</body>
</html>
`;
  return new Response(body, {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": PAGE_POLICY,
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    },
  });
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
