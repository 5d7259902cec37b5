/** Production classes with one rule left out, each of which has to be caught. */
@NullMarked
package io.leasehold.verify.variants;

import org.jspecify.annotations.NullMarked;
