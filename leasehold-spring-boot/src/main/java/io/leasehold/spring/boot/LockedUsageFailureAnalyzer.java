package io.leasehold.spring.boot;

import io.leasehold.spring.LockedUsageException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Explains how to correct a method with {@code @Locked}. */
final class LockedUsageFailureAnalyzer extends AbstractFailureAnalyzer<LockedUsageException> {

    LockedUsageFailureAnalyzer() {}

    @Override
    public FailureAnalysis analyze(Throwable failure, LockedUsageException cause) {
        return new FailureAnalysis(String.valueOf(cause.getMessage()), cause.cure() + ".", cause);
    }
}
