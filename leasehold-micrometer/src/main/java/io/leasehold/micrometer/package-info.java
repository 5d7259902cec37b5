/** What locks do, as Micrometer meters. */
@NullMarked
package io.leasehold.micrometer;

import org.jspecify.annotations.NullMarked;
