import { createHash } from "node:crypto";
import type { Plugin } from "vite";
import { type Budget, findExcess, kilobytes, measureBudgets } from "./budgets.ts";
import { stampOfSources } from "./console-files.mjs";
import { buildTheme, THEME_PLACE } from "./theme-script.ts";
import { writeBuild } from "./write-build.ts";

/**
 * Ends a build: checks the budgets, and writes the files as the gateway serves them. Vite itself writes nothing.
 * A build above a budget fails, and the one before stays.
 */
export function gatewayBuild(): Plugin {
  let stamp = "";
  let watched = false;
  return {
    name: "gateway-build",
    apply: "build",
    enforce: "post",
    configResolved(config) {
      watched = config.build.watch !== null;
    },
    buildStart() {
      // Before the sources are read: what is changed meanwhile is built again by the next start.
      stamp = stampOfSources();
    },
    generateBundle: {
      order: "post",
      async handler(_options, bundle) {
        const outputs = Object.values(bundle);
        const chunks = outputs.filter((output) => output.type === "chunk");
        const assets = outputs.filter((output) => output.type === "asset");
        const budgets = measureBudgets(chunks, assets);
        const excess = findExcess(budgets);
        if (excess.length > 0) this.error(`the console is too large: ${excess.join("; ")}`);
        const files = new Map(
          outputs.map((output) => [
            output.fileName,
            output.type === "chunk" ? output.code : output.source,
          ]),
        );
        // Vite would write them too when it watches.
        for (const name of Object.keys(bundle)) delete bundle[name];
        placeTheme(files, await buildTheme());
        const id = await writeBuild({ stamp, watched, files });
        console.log(`console: built ${id}: ${describe(budgets)}`);
      },
    },
  };
}

/** Adds the theme's script under a name made from its content, and names it in `index.html`. */
function placeTheme(files: Map<string, string | Uint8Array>, code: string): void {
  const html = files.get("index.html");
  if (html === undefined) throw new Error("the build has no index.html");
  const name = `assets/theme-${createHash("sha256").update(code).digest("hex").slice(0, 8)}.js`;
  files.set(name, code);
  files.set(
    "index.html",
    String(html).replace(THEME_PLACE, `<script src="/console/${name}"></script>`),
  );
}

function describe(budgets: readonly Budget[]): string {
  return budgets.map(({ name, bytes }) => `${name} ${kilobytes(bytes)}`).join(", ");
}
