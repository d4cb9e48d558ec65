// Writes the types of the console's client from the routes: src/console/api/schema.d.ts.
// The build leaves no trace of types; they are for `check` and for editors.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { API_TYPES } from "../console/console-files.mjs";
import { script } from "./runtime.mjs";

const HEADER = "// Made from the routes by scripts/task/write-api-types.mjs.\n";

const [{ default: createTypes, astToString }, document] = await Promise.all([
  import("openapi-typescript"),
  describeRoutes(),
]);
const text = HEADER + astToString(await createTypes(document));
// Whoever watches the file is told of changes alone.
if (text !== read(API_TYPES)) writeFileSync(API_TYPES, text);

function describeRoutes() {
  const { command, args } = script("scripts/write-openapi.ts");
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(JSON.parse(text));
      else reject(new Error(`the routes could not be described (${code})`));
    });
  });
}

function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
