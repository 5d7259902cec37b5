/** Auto-configuration for Spring Boot 3.5, 4.0 and 4.1; what it makes is described by its properties and in {@code docs/spring.md}. */
@NullMarked
package io.leasehold.spring.boot;

import org.jspecify.annotations.NullMarked;
