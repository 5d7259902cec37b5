/** The differences between databases: records of statements, not subclasses. */
@NullMarked
package io.leasehold.jdbc.dialect;

import org.jspecify.annotations.NullMarked;
