import { ServiceError } from "../../core/service-error.ts";

/** Counts uploads in progress, so that neither all users together nor one of them take too many. */
export interface UploadPlaces {
  /**
   * Takes a place for an upload and returns the function that leaves it. Throws `rate_limit_exceeded` when the owner has
   * too many, and `overloaded` when the server has.
   */
  readonly take: (ownerId: string) => () => void;
}

export function createUploadPlaces({
  max,
  maxOfOwner,
}: {
  readonly max: number;
  readonly maxOfOwner: number;
}): UploadPlaces {
  const byOwner = new Map<string, number>();
  let taken = 0;
  return {
    take(ownerId) {
      const own = byOwner.get(ownerId) ?? 0;
      if (own >= maxOfOwner) throw tooMany(maxOfOwner);
      if (taken >= max) {
        throw new ServiceError("overloaded", "Too many files are being uploaded; try again later.");
      }
      taken += 1;
      byOwner.set(ownerId, own + 1);
      return () => {
        taken -= 1;
        const left = (byOwner.get(ownerId) ?? 1) - 1;
        if (left === 0) byOwner.delete(ownerId);
        else byOwner.set(ownerId, left);
      };
    },
  };
}

function tooMany(maxOfOwner: number): ServiceError {
  return new ServiceError(
    "rate_limit_exceeded",
    `You upload ${maxOfOwner} files already, which is the most at a time; send further ones when some are done.`,
  );
}
