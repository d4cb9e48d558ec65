import { readManifest } from "../../../scripts/console/console-files.mjs";

/** What a browser may do with anything below `/console`, word by word. */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; " +
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "permissions-policy": "microphone=(self)",
};

export interface ServedFile {
  readonly path: string;
  readonly status: number;
  /** The headers that are not as they should be, with what they are. */
  readonly loose: Readonly<Record<string, string | null>>;
}

/** Asks a gateway for every file of the build, for pages, and for files that are not there. */
export async function askForFiles(url: string): Promise<readonly ServedFile[]> {
  const manifest = readManifest();
  if (manifest === undefined) throw new Error("the console is not built");
  const files = manifest.files.map(({ name }) => `/console/${name}`);
  const others = ["/console", "/console/", "/console/keys/key_1", "/console/build.json"];
  const served: ServedFile[] = [];
  for (const path of [...files, ...others, "/console/assets/gone-12345678.js"]) {
    const { status, headers } = await fetch(url + path);
    const loose = Object.entries(HEADERS).filter(([name, value]) => headers.get(name) !== value);
    served.push({
      ...{ path, status },
      loose: Object.fromEntries(loose.map(([name]) => [name, headers.get(name)])),
    });
  }
  return served;
}
