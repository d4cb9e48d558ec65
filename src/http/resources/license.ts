import { z } from "@hono/zod-openapi";
import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import { describeLicense } from "../../license/describe-license.ts";
import { recordRefusedUpload, uploadLicense } from "../../license/upload-license.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { readLicenseUpload } from "../bodies/read-license-upload.ts";
import { count } from "../fields.ts";
import { licenseState } from "../license-state.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { actorOf } from "../request/actor-of.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const licenseDetails = z
  .object({
    source: z.string().nullable(),
    kind: z.string(),
    id: z.string().nullable(),
    customer: z.string().nullable(),
    issued_at: z.string().nullable().openapi({ format: "date-time" }),
    max_users: count,
    users: count.openapi({ description: "Those that count: the active ones." }),
    max_gpus: count.nullable(),
    gpus: count.nullable(),
  })
  .openapi("LicenseDetails");

const licenseDevice = z
  .object({ active: z.string().nullable(), device_id: z.string().nullable() })
  .openapi("LicenseDevice");

const licenseUpload = z
  .object({ file: z.string().openapi({ format: "binary", description: "One `.lic` file." }) })
  .openapi("LicenseUpload");

const STATE = { path: "/api/license", tokens: "license", tag: "License" } as const;

const SHOW = resourceRoute({
  ...STATE,
  method: "get",
  access: "session",
  operationId: "getLicense",
  summary: "Show the state of the license",
  answer: { description: "The state.", schema: licenseState },
});
const DESCRIBE = resourceRoute({
  ...STATE,
  path: `${STATE.path}/details`,
  method: "get",
  access: "administrator",
  operationId: "getLicenseDetails",
  summary: "Show whose license it is, what it allows and what is there",
  answer: { description: "The license.", schema: licenseDetails },
});
const DEVICE = resourceRoute({
  ...STATE,
  path: `${STATE.path}/device`,
  method: "get",
  access: "administrator",
  operationId: "getLicenseDevice",
  summary: "Show the device that a license can be bound to",
  answer: { description: "The device.", schema: licenseDevice },
});
const UPLOAD = resourceRoute({
  ...STATE,
  method: "post",
  access: "administrator",
  operationId: "uploadLicense",
  summary: "Upload a license",
  description:
    "It takes the place of the one before, at all replicas. One that would have no effect is refused: it has expired, or was issued before a valid one that is placed on the server.",
  form: licenseUpload,
  answer: { description: "The state under the new license.", schema: licenseState },
});

/** `/api/license`: the license's state and contents, the device to bind a license to, and the upload of another. */
export function licenseRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const { license } = deps;
  const { database, clock } = deps.access;
  router.add(SHOW, () => jsonResponse(license.state()));
  router.add(DESCRIBE, async () => jsonResponse(await describeLicense({ database, license })));
  router.add(DEVICE, () => jsonResponse({ active: license.deviceId, device_id: license.deviceId }));
  router.add(UPLOAD, async (context, caller) => {
    const actor = actorOf(context, caller);
    try {
      const file = await readLicenseUpload(context.req.raw);
      await uploadLicense({ database, license, clock }, actor, file);
    } catch (thrown) {
      if (thrown instanceof ServiceError && thrown.status < 500) {
        await recordRefusedUpload({ database }, actor, thrown);
      }
      throw thrown;
    }
    return jsonResponse(license.state());
  });
  return router;
}
