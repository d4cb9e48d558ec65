import { join } from "node:path";
import { build, type Plugin } from "vite";
import { SOURCES } from "./console-files.mjs";

/** The script of the theme in `index.html`, by its source or by its name in a server of vite. */
const THEME = /<script src="(?:\/console)?\/theme\.(?:ts|js)"><\/script>/;
const SERVED = "/console/theme.js";

/** Where the name of the built script goes. */
export const THEME_PLACE = "<!--theme-->";

/**
 * Bundles `theme.ts` as a classic script, which runs before the first paint: modules run after it, and the policy allows
 * nothing inline.
 */
export async function buildTheme(): Promise<string> {
  const made = await build({
    root: SOURCES,
    configFile: false,
    logLevel: "error",
    build: {
      write: false,
      lib: {
        entry: join(SOURCES, "theme.ts"),
        formats: ["iife"],
        name: "theme",
        fileName: "theme",
      },
    },
  });
  const outputs = (Array.isArray(made) ? made : [made]).flatMap((one) =>
    "output" in one ? one.output : [],
  );
  const chunk = outputs.find((output) => output.type === "chunk");
  if (chunk === undefined) throw new Error("theme.ts was built to nothing");
  return chunk.code;
}

/** Keeps the place of the theme's script in a build, and serves the script where vite itself is the server. */
export function themeScript(): Plugin {
  let isBuild = false;
  return {
    name: "theme-script",
    configResolved(config) {
      isBuild = config.command === "build";
    },
    buildStart() {
      if (isBuild) this.addWatchFile(join(SOURCES, "theme.ts"));
    },
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        if (request.url?.split("?")[0] !== SERVED) return next();
        buildTheme().then((code) => {
          response.setHeader("content-type", "text/javascript");
          response.end(code);
        }, next);
      });
    },
    transformIndexHtml: {
      order: "pre",
      handler(html) {
        if (!THEME.test(html)) throw new Error("index.html does not load the theme");
        return html.replace(THEME, isBuild ? THEME_PLACE : `<script src="${SERVED}"></script>`);
      },
    },
  };
}
