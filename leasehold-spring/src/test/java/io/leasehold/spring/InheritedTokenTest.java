package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/** Tests of {@link FencingToken} at the parameter of an interface, or of a superclass. */
@Tag("quick")
class InheritedTokenTest {

    interface Stock<T> {
        long take(T item, @FencingToken long token);
    }

    static class OfInterface implements Stock<String> {
        @Override
        @Locked(name = "stock", maxWait = "0")
        public long take(String item, long token) {
            return token;
        }
    }

    abstract static class Base {
        abstract long take(@FencingToken long token);
    }

    static class OfSuperclass extends Base {
        @Override
        @Locked(name = "stock", maxWait = "0")
        public long take(long token) {
            return token;
        }
    }

    interface WrongType {
        void take(@FencingToken int token);
    }

    static class OfWrongType implements WrongType {
        @Override
        @Locked(name = "stock", maxWait = "0")
        public void take(int token) {}
    }

    @Test
    void theAnnotationOfAnInterfaceCounts() {
        try (AnnotationConfigApplicationContext application = Application.of(MemoryLocks.class, OfInterface.class)) {
            @SuppressWarnings("unchecked") // it is the only one
            Stock<String> stock = application.getBean(Stock.class);
            assertThat(stock.take("apples", 0)).isPositive();
        }
    }

    @Test
    void theAnnotationOfASuperclassCounts() {
        try (AnnotationConfigApplicationContext application = Application.of(MemoryLocks.class, OfSuperclass.class)) {
            assertThat(application.getBean(OfSuperclass.class).take(0)).isPositive();
        }
    }

    @Test
    void anInheritedTokenOfAnotherTypeIsRefused() {
        assertThat(Application.refused(MemoryLocks.class, OfWrongType.class))
                .hasMessageContaining("has a @FencingToken of type int");
    }
}
