// Builds the console into dist/console, unless it was built from the same sources. Runs on Node and on Bun.
// usage: build-console.mjs [--watch]     `--watch` goes on with a build after each change, and writes the API's types
import { spawn } from "node:child_process";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { readManifest, SOURCES, stampOfSources, writeManifest } from "../console/console-files.mjs";
import { script, stopWithParent } from "./runtime.mjs";

const watches = process.argv.includes("--watch");
// React has another program for development, and whoever calls may have set its name.
process.env.NODE_ENV = "production";
// The server starts beside it, and has the machine first.
setPriority(constants.priority.PRIORITY_LOW);

const manifest = readManifest();
const isCurrent = manifest?.stamp === stampOfSources();
if (watches || !isCurrent) await buildConsole();
else if (manifest.watched) writeManifest({ ...manifest, watched: false });

async function buildConsole() {
  try {
    const { build } = await import("vite");
    const made = await build({
      configFile: join(SOURCES, "vite.config.ts"),
      logLevel: "warn",
      build: { watch: watches ? {} : null },
    });
    if (watches) followBuilds(made);
  } catch (error) {
    console.error(`console: the build failed: ${error.message}`);
    process.exitCode = 1;
  }
}

/** Says what fails, and goes on. The first build is not kept waiting by the types. */
function followBuilds(watcher) {
  let isFirst = true;
  watcher.on("event", ({ code, error, result }) => {
    if (code === "ERROR") console.error(`console: the build failed: ${error.message}`);
    if (code === "BUNDLE_END") result.close();
    if (code !== "END" || !isFirst) return;
    isFirst = false;
    const { command, args } = script("scripts/task/write-api-types.mjs", [stopWithParent]);
    spawn(command, args, { stdio: ["ignore", "inherit", "inherit"] }).once("error", (failure) =>
      console.error(`console: ${failure.message}`),
    );
  });
}
