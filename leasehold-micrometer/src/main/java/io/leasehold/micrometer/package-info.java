/** Micrometer meters of locks. */
@NullMarked
package io.leasehold.micrometer;

import org.jspecify.annotations.NullMarked;
