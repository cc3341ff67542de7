// Package mark signs and verifies the Mark of a Seal: Schnorr signatures over
// secp256k1 whose hashes are BLAKE3 in derive-key mode. It knows nothing of
// stores, files or policies, and does no curve arithmetic of its own.
//
// With H(tag, x) the first 32 bytes of BLAKE3 derive-key under the context
// "lace-🖧/<tag>", n the order of the group, p that of the field, and msg the
// digest in the typed hash of the sealed Plex:
//
//	verify  r, s = the halves of the mark; r < p, s < n
//	        P = the point with x = verifier key and even y
//	        e = H(challenge, r || P.x || msg) mod n
//	        R = s*G - e*P, not infinity, even y, R.x = r
//	sign    d = the secret, or n - secret when secret*G has an odd y
//	        k = H(nonce, (H(aux, random) xor d) || P.x || msg) mod n, not 0
//	        R = k*G; k = n - k when R.y is odd
//	        mark = R.x || (k + e*d mod n)
package mark
