import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, transformWithOxc } from "vite";

const folder = fileURLToPath(new URL(".", import.meta.url));
const gateway = "http://127.0.0.1:8080";

export default defineConfig({
  root: folder,
  base: "/console/",
  plugins: [
    react(),
    tailwindcss(),
    {
      name: "classic-theme",
      async buildStart() {
        const source = await readFile(`${folder}/theme.ts`, "utf8");
        const { code } = await transformWithOxc(source, "theme.ts");
        this.emitFile({ type: "asset", fileName: "theme.js", source: code });
      },
    },
  ],
  build: {
    outDir: fileURLToPath(new URL("../../dist/console", import.meta.url)),
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  server: { proxy: { "/api": gateway, "/v1": gateway } },
});
