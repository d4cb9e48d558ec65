import { ServiceError } from "../../../core/service-error.ts";

/** Of every key that opens nothing: nobody learns which of these it is. */
export function unusableApiKey(): ServiceError {
  return new ServiceError("invalid_api_key", "This API key is unknown here, inactive or expired.");
}
