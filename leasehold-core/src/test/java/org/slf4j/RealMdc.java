package org.slf4j;

import org.slf4j.helpers.BasicMDCAdapter;
import org.slf4j.spi.MDCAdapter;

/** The log output of the tests keeps no context; here is SLF4J's own, for a test that looks at it. */
public final class RealMdc implements AutoCloseable {

    private final MDCAdapter before = MDC.getMDCAdapter();

    public RealMdc() {
        MDC.setMDCAdapter(new BasicMDCAdapter());
    }

    @Override
    public void close() {
        MDC.setMDCAdapter(before);
    }
}
