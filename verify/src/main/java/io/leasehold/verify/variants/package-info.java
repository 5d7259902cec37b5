/** Production classes with one rule removed, each of which must be detected. */
@NullMarked
package io.leasehold.verify.variants;

import org.jspecify.annotations.NullMarked;
