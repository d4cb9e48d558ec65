import type { KeyObject } from "node:crypto";
import { LicenseRefusal, type LicenseTerms, readLicenseFile } from "./license-file.ts";

/** Reads a license that holds on this device, expired or not. Throws a `LicenseRefusal`. */
export function acceptLicense(
  file: string,
  { key, deviceId }: { readonly key: KeyObject; readonly deviceId: string },
): LicenseTerms {
  const terms = readLicenseFile(file, key);
  if (terms.deviceId === null || terms.deviceId === deviceId) return terms;
  throw new LicenseRefusal(
    "The license is for another device; GET /api/license/device tells the id of this one.",
  );
}
