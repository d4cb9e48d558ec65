// A container's health check: exits with 0 while the server answers.
import { get } from "node:http";

const WAIT_MS = 4_000;
const { PORT, ALLOWED_HOSTS = "" } = process.env;
// If only some host names are allowed, any of them works.
const host = ALLOWED_HOSTS.split(",")[0].trim() || "127.0.0.1";

const request = get({
  ...{ host: "127.0.0.1", port: PORT || 8080, path: "/api/health", headers: { host } },
  timeout: WAIT_MS,
});
request.once("response", ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1));
request.once("error", () => process.exit(1));
request.once("timeout", () => process.exit(1));
