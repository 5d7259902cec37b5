/**
 * Auto-configuration for Spring Boot 3.5, 4.0 and 4.1. The metadata of its properties and {@code docs/spring.md}
 * describe it.
 */
@NullMarked
package io.leasehold.spring.boot;

import org.jspecify.annotations.NullMarked;
