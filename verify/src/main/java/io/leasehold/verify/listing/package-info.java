/** The cost for acquires while an operator lists many locks. */
@NullMarked
package io.leasehold.verify.listing;

import org.jspecify.annotations.NullMarked;
