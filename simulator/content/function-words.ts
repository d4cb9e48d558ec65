const english =
  "a about after all also an and any are as at be been before but by can could did do does each for from had has have " +
  "he her his how i if in into is it its may me more most much must my no not of on only or our out over she should so " +
  "some such than that the their them then there these they this those to under until up us very was we were what when " +
  "where which while who whom whose why will with would you your";
const german =
  "aber alle als am an auch auf aus bei beim bin bis da dann das dass dein dem den der des die dies diese dieser du " +
  "durch ein eine einem einen einer eines er es euch für hat habe haben ich ihr im in ist ja kann kein keine man mein " +
  "mich mit nach nicht noch nur ob oder ohne sein sich sie sind so über um und uns unter vom von vor wann war warum was welche wenn " +
  "wer werden wie wir wird wo zu zum zur";

/** Frequent words without a subject of their own, in lower case. */
export const functionWords: ReadonlySet<string> = new Set(`${english} ${german}`.split(" "));
