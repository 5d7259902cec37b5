/** The client JVMs that contend for locks, use the resource under them, and record their beliefs. */
@NullMarked
package io.leasehold.verify.client;

import org.jspecify.annotations.NullMarked;
