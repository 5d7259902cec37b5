/**
 * Tests of applications with locks: {@link io.leasehold.spring.boot.test.AutoConfigureLeasehold} keeps locks in memory, {@link
 * io.leasehold.spring.boot.test.LockFaults} breaks them.
 */
@NullMarked
package io.leasehold.spring.boot.test;

import org.jspecify.annotations.NullMarked;
