package io.leasehold.benchmarks.child;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.leasehold.testkit.process.ChildJvm;
import java.time.Duration;

/** A child JVM, as its parent uses it. It processes one order at a time. */
public final class Worker implements AutoCloseable {

    static final String ANSWER = "ANSWER ";
    static final String READY = "READY";
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final ObjectMapper JSON = new ObjectMapper();

    private final ChildJvm child;

    /** Starts it; {@link #awaitReady} waits until it is ready. */
    public Worker(String uri) {
        child = ChildJvm.of(WorkerMain.class)
                .jvmArgument("-Xmx512m")
                .jvmArgument("-XX:TieredStopAtLevel=4")
                .property("org.slf4j.simpleLogger.defaultLogLevel", "warn")
                .property("org.slf4j.simpleLogger.log.org.redisson", "off")
                .arguments(uri)
                .start();
    }

    /** Waits until it accepts orders. */
    public void awaitReady() throws InterruptedException {
        child.awaitLine(READY, PATIENCE);
    }

    /** Sends an order; {@link #answer} returns the answer. */
    public void send(Order order) {
        try {
            child.send(JSON.writeValueAsString(order));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("cannot write " + order, e);
        }
    }

    /** The answer to the last order. */
    public Answer answer() throws InterruptedException {
        String line = child.awaitLine(ANSWER, PATIENCE);
        Answer answer;
        try {
            answer = JSON.readValue(line.substring(ANSWER.length()), Answer.class);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("cannot read the answer of " + child, e);
        }
        if (answer.failure() != null) {
            throw new IllegalStateException(
                    child + " failed: " + answer.failure() + "\n" + String.join("\n", child.errorLines()));
        }
        return answer;
    }

    /** Ends it. */
    @Override
    public void close() {
        child.close();
    }
}
