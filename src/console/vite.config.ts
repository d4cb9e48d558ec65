import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { BUILDS, SOURCES } from "../../scripts/console/console-files.mjs";
import { gatewayBuild } from "../../scripts/console/gateway-build.ts";
import { themeScript } from "../../scripts/console/theme-script.ts";

/** The gateway that `vite src/console` passes calls on to, such as the one that `dev` runs. */
const GATEWAY = "http://127.0.0.1:8080";

export default defineConfig({
  root: SOURCES,
  base: "/console/",
  publicDir: false,
  plugins: [themeScript(), react(), tailwindcss(), gatewayBuild()],
  build: {
    // `gatewayBuild` writes.
    write: false,
    emptyOutDir: false,
    outDir: BUILDS,
    // The policy allows no fonts from `data:` addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: Number.POSITIVE_INFINITY,
    license: { fileName: "licenses.json" },
  },
  server: {
    proxy: {
      "/api": { target: GATEWAY, changeOrigin: false },
      "/v1": { target: GATEWAY, changeOrigin: false },
    },
  },
});
