import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import { describeLicense } from "../../license/describe-license.ts";
import { recordRefusedUpload, uploadLicense } from "../../license/upload-license.ts";
import { chatErrorForm } from "../answers/error-response.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { readLicenseUpload } from "../bodies/read-license-upload.ts";
import { actorOf } from "../request/actor-of.ts";
import { hiddenRoute } from "../request/hidden-route.ts";
import { createRouter, type Router } from "../request/router.ts";

/** `/api/license`: the license's state, what it says, the device to bind one to, and the upload of another. */
export function licenseRoutes(deps: Deps): Router {
  const router = createRouter(chatErrorForm, deps);
  const { license } = deps;
  const { database, clock } = deps.access;

  router.add(hiddenRoute("get", "/api/license", "session"), () => jsonResponse(license.state()));
  router.add(hiddenRoute("get", "/api/license/details", "administrator"), async () =>
    jsonResponse(await describeLicense({ database, license })),
  );
  router.add(hiddenRoute("get", "/api/license/device", "administrator"), () =>
    jsonResponse({ active: license.deviceId, device_id: license.deviceId }),
  );
  router.add(hiddenRoute("post", "/api/license", "administrator"), async (context, caller) => {
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
