/**
 * Told what keys use of their months, by the replica that sees it. Quick, and never throws. Only the month of now
 * counts: a call that is settled after the month it counts to has ended is not told of.
 */
export interface MonthlyUseObserver {
  /**
   * After each settle of a key that has a monthly limit.
   *
   * @param settledTokens of the month; what calls under way hold is no use yet.
   * @param limit the key's monthly limit, as it is now.
   */
  readonly onMonthUse: (keyId: string, settledTokens: number, limit: number) => void;
  /**
   * A call was refused by the monthly limit and would have been with no other call under way. A refusal that passes
   * when reservations come back is not told of.
   */
  readonly onMonthlyRefusal: (keyId: string, settledTokens: number, limit: number) => void;
}
