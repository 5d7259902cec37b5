package io.leasehold.verify.variants;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.util.List;
import java.util.function.Supplier;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs tests that exhaust or target single rules; created in the class loader of a variant. */
public final class TestHunt implements Supplier<String> {

    /** The exhaustive searches run last: most variants are detected before them, in less time. */
    private static final List<String> OF_CORE = List.of(
            "io.leasehold.quorum.QuorumRoundSilenceTest",
            "io.leasehold.quorum.NodeSetTest",
            "io.leasehold.quorum.ContentionBackoffTest",
            "io.leasehold.quorum.QuorumSessionTest",
            "io.leasehold.quorum.QuorumRenewalTest",
            "io.leasehold.quorum.NodeReleaseTest",
            "io.leasehold.quorum.NodeReleasesTest",
            "io.leasehold.memory.InMemoryNodeTest",
            "io.leasehold.engine.AcquireMachineTest",
            "io.leasehold.engine.WaitingChecksTest",
            "io.leasehold.engine.GrantMachineScheduleTest",
            "io.leasehold.engine.RenewalBatcherTest",
            "io.leasehold.engine.EnsureValidTest",
            "io.leasehold.engine.SeveralLocksTest",
            "io.leasehold.engine.AcquireMachineExhaustiveTest",
            "io.leasehold.engine.GrantMachineExhaustiveTest",
            "io.leasehold.engine.GrantMachineLongExhaustiveTest",
            "io.leasehold.quorum.QuorumRoundExhaustiveTest");

    private final List<String> tests;

    /** Runs the tests of core. Called by reflection. */
    public TestHunt() {
        this(OF_CORE);
    }

    TestHunt(List<String> tests) {
        this.tests = tests;
    }

    /** The first failed test, or an empty text. */
    @Override
    public String get() {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(TestHunt.class.getClassLoader());
        try {
            First first = new First();
            for (String test : tests) {
                Launcher launcher = LauncherFactory.create();
                LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                        .selectors(selectClass(Class.forName(test, true, TestHunt.class.getClassLoader())))
                        .build();
                launcher.execute(request, first);
                if (!first.failure.isEmpty()) {
                    return "test " + test.substring(test.lastIndexOf('.') + 1) + "." + first.failure;
                }
            }
            return "";
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException("tests are not on the class path: build them", e);
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    private static final class First implements TestExecutionListener {
        private String failure = "";

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            if (failure.isEmpty() && result.getStatus() == TestExecutionResult.Status.FAILED) {
                failure = test.getDisplayName();
            }
        }
    }
}
