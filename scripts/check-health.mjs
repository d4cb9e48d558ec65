// A container's health check: exits with 0 while the server answers.
import { get } from "node:http";

const WAIT_MS = 4_000;
const { HOST = "", PORT, ALLOWED_HOSTS = "" } = process.env;
// A server that listens on all addresses is reached by this one.
const address = ["", "0.0.0.0", "::"].includes(HOST) ? "127.0.0.1" : HOST;
// If only some host names are allowed, any of them works.
const host = ALLOWED_HOSTS.split(",")[0].trim() || hostOf(address);

const request = get({
  ...{ host: address, port: PORT || 8080, path: "/api/health", headers: { host } },
  timeout: WAIT_MS,
});
request.once("response", ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1));
request.once("error", () => process.exit(1));
request.once("timeout", () => process.exit(1));

/** An address of version 6 is put into brackets. */
function hostOf(address) {
  return address.includes(":") ? `[${address}]` : address;
}
