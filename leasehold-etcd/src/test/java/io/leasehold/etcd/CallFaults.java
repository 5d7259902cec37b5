package io.leasehold.etcd;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall;
import io.grpc.ForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Injects network faults into the next call of a kind; the server is a real one. Safe for use by any thread. */
final class CallFaults implements ClientInterceptor {

    /**
     * The fault of the call. Unless it says that the caller waits, the caller gets the error that the server is
     * unavailable.
     */
    enum Fault {
        /** It never arrives. */
        REQUEST_LOST,
        /** It is executed, and its answer does not arrive. */
        REPLY_LOST,
        /** It arrives only when {@link #deliver} is called. */
        LATE,
        /** It arrives only when {@link #deliver} is called. Its caller waits for it. */
        REQUEST_HELD,
        /** It is executed, and its answer arrives only when {@link #deliver} is called. Its caller waits for it. */
        REPLY_LATE
    }

    private record Armed(Predicate<Object> which, Fault fault, boolean again) {}

    private final AtomicReference<@Nullable Armed> armed = new AtomicReference<>();
    private final AtomicInteger count = new AtomicInteger();
    private final AtomicReference<CompletableFuture<Runnable>> late = new AtomicReference<>(new CompletableFuture<>());

    /** The next call with a message that matches suffers this fault. */
    void next(Predicate<Object> which, Fault fault) {
        late.set(new CompletableFuture<>());
        armed.set(new Armed(which, fault, false));
    }

    /** Each call with a message that matches suffers this fault, until {@link #heal}. */
    void each(Predicate<Object> which, Fault fault) {
        armed.set(new Armed(which, fault, true));
    }

    void heal() {
        armed.set(null);
    }

    /** Whether the fault has happened. */
    boolean happened() {
        return armed.get() == null;
    }

    /** The number of calls that have suffered a fault. */
    int count() {
        return count.get();
    }

    /** Whether a late call or answer waits for delivery. */
    boolean isLate() {
        return late.get().isDone();
    }

    /** Sends the late calls, and delivers the late answers. */
    void deliver() {
        late.get().join().run();
    }

    private @Nullable Fault faultOf(Object message) {
        Armed now = armed.get();
        if (now == null || !now.which.test(message) || !(now.again || armed.compareAndSet(now, null))) {
            return null;
        }
        count.incrementAndGet();
        return now.fault;
    }

    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
        return new Call<>(next.newCall(method, options));
    }

    private final class Call<Q, A> extends ForwardingClientCall.SimpleForwardingClientCall<Q, A> {
        private volatile @Nullable Fault fault;
        private ClientCall.@Nullable Listener<A> caller;
        /** Guarded by this. */
        private final List<Runnable> answers = new ArrayList<>();

        private boolean delivered;

        Call(ClientCall<Q, A> call) {
            super(call);
        }

        @Override
        public void start(Listener<A> listener, Metadata headers) {
            caller = listener;
            super.start(
                    new ForwardingClientCallListener.SimpleForwardingClientCallListener<A>(listener) {
                        @Override
                        public void onMessage(A message) {
                            if (fault == null || fault == Fault.REQUEST_HELD) {
                                super.onMessage(message);
                            } else if (fault == Fault.REPLY_LATE) {
                                answered(() -> super.onMessage(message));
                            }
                        }

                        @Override
                        public void onClose(Status status, Metadata trailers) {
                            if (fault == null || fault == Fault.REQUEST_HELD) {
                                super.onClose(status, trailers);
                            } else if (fault == Fault.REPLY_LOST) {
                                super.onClose(lost(), trailers);
                            } else if (fault == Fault.REPLY_LATE) {
                                answered(() -> super.onClose(status, trailers));
                            }
                        }
                    },
                    headers);
        }

        /** Answers after the delivery also come in their order. */
        private synchronized void answered(Runnable answer) {
            if (delivered) {
                answer.run();
                return;
            }
            answers.add(answer);
            late.get().complete(this::handOut);
        }

        private synchronized void handOut() {
            delivered = true;
            answers.forEach(Runnable::run);
        }

        private Status lost() {
            return Status.UNAVAILABLE.withDescription("lost by the test");
        }

        @Override
        public void sendMessage(Q message) {
            Fault now = faultOf(message);
            fault = now;
            if (now == null || now == Fault.REPLY_LOST || now == Fault.REPLY_LATE) {
                super.sendMessage(message);
                return;
            }
            if (now == Fault.REQUEST_HELD) {
                late.get().complete(() -> super.sendMessage(message));
                return;
            }
            if (now == Fault.LATE) {
                late.get().complete(() -> {
                    super.sendMessage(message);
                    super.halfClose();
                });
            }
            if (caller != null) {
                caller.onClose(lost(), new Metadata());
            }
        }

        @Override
        public void halfClose() {
            if (fault == null || fault == Fault.REPLY_LOST || fault == Fault.REPLY_LATE) {
                super.halfClose();
            } else if (fault == Fault.REQUEST_LOST) {
                super.cancel("lost by the test", null);
            }
        }
    }
}
