import createClient from "openapi-fetch";
import { noteServerTime } from "../lib/clock.ts";
import type { paths } from "./schema.d.ts";

/** Calls the gateway as the session of this browser. */
export const api = createClient<paths>({ baseUrl: window.location.origin });

api.use({ onResponse: ({ response }) => noteServerTime(response.headers.get("date")) });
