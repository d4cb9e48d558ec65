import { ServiceError } from "../../../core/service-error.ts";

/** Returns the error for every unusable key, which does not reveal the reason. */
export function unusableApiKey(): ServiceError {
  return new ServiceError("invalid_api_key", "This API key is unknown here, inactive or expired.");
}
