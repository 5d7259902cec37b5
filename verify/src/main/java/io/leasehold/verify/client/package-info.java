/** The client JVMs that contend for locks, use the resource under them, and write down what they believed. */
@NullMarked
package io.leasehold.verify.client;

import org.jspecify.annotations.NullMarked;
