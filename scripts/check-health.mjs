// For a container's health check: ends with 0 while the server answers.
import { get } from "node:http";

const WAIT_MS = 4_000;
const { PORT, ALLOWED_HOSTS = "" } = process.env;
// Where only some host names are answered, any of them will do.
const host = ALLOWED_HOSTS.split(",")[0].trim() || "127.0.0.1";

const request = get({
  ...{ host: "127.0.0.1", port: PORT || 8080, path: "/api/health", headers: { host } },
  timeout: WAIT_MS,
});
request.once("response", ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1));
request.once("error", () => process.exit(1));
request.once("timeout", () => process.exit(1));
