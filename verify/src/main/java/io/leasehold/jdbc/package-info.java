/** Access to the stores for the simulator, which applications do not have. */
@NullMarked
package io.leasehold.jdbc;

import org.jspecify.annotations.NullMarked;
