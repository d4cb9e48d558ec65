/** What a user may be called, in any case: ASCII alone, so that no two names look alike. It is kept in lower case. */
export const USERNAME = /^[a-z0-9][a-z0-9._@+-]{0,63}$/i;
