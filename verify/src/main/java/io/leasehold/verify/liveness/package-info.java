/** Measures whether clients that contend over a quorum are served, and how soon. */
@NullMarked
package io.leasehold.verify.liveness;

import org.jspecify.annotations.NullMarked;
