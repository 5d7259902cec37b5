/** What it costs those who acquire that an operator looks at many locks. */
@NullMarked
package io.leasehold.verify.listing;

import org.jspecify.annotations.NullMarked;
