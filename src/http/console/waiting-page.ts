import { CONSOLE_HEADERS } from "./console-headers.ts";

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="1">
<title>Inference Gateway</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>The console is not ready yet</h1>
<p>It is being built, or the server is starting. This page loads again by itself.</p>
<p>If it stays, the terminal or the log of the server says why. The tasks <code>dev</code> and <code>start</code> build
the console; a server that is started in another way serves what they have built.</p>
</body>
</html>
`;

/** Builds the page that is shown until there is a console. It loads itself again each second. */
export function waitingPage(): Response {
  return new Response(PAGE, {
    status: 503,
    headers: {
      ...CONSOLE_HEADERS,
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "retry-after": "1",
    },
  });
}
