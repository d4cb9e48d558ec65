/** Every advisory lock of this program, in one place, so that no two are the same. Any constants do. */
export const ADVISORY_LOCK = {
  migration: 4_823_116_093,
  firstStart: 4_823_116_094,
  /** Changes to users, one after the other. */
  users: 4_823_116_095,
  /** Held by a replica for as long as it lives. */
  replica: 4_823_116_096,
  /** One lock a watched folder, the second number its name's: such pairs are 32 bits each. */
  watchedFolder: 482_311_609,
  /** One reconciliation of usage at a time; such a pair as well. */
  reconciliation: 482_311_610,
  /** One lock for the order keys of the queue that share a bucket; such a pair as well. */
  orderKey: 482_311_611,
  /** One replica at a time makes days of usage, drops and folds them. */
  usageUpkeep: 4_823_116_097,
} as const;
