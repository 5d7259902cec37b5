package io.leasehold.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockClient;
import io.leasehold.spring.Locked;
import io.leasehold.spring.Locks;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.aot.test.generate.TestGenerationContext;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.test.tools.CompileWithForkedClassLoader;
import org.springframework.core.test.tools.TestCompiler;
import org.springframework.javapoet.ClassName;

/** Tests that the clients of properties are beans of an application that was processed ahead of time. */
@Tag("quick")
class AheadOfTimeTest {

    public static class Jobs {
        @Locked(name = "job", maxWait = "0", client = "audit")
        public String run() {
            return Locks.current().lockName().text();
        }
    }

    private static void set(ConfigurableEnvironment environment) {
        environment
                .getPropertySources()
                .addFirst(new MapPropertySource(
                        "test", Map.of("leasehold.uri", "memory:", "leasehold.clients.audit.uri", "memory:")));
    }

    @Test
    @CompileWithForkedClassLoader
    void aClientWithANameIsThere() {
        AnnotationConfigApplicationContext application = new AnnotationConfigApplicationContext();
        set(application.getEnvironment());
        application.register(LeaseholdAutoConfiguration.class, Jobs.class);
        TestGenerationContext generated = new TestGenerationContext();
        ClassName initializer = new ApplicationContextAotGenerator().processAheadOfTime(application, generated);
        generated.writeGeneratedContent();
        TestCompiler.forSystem().with(generated).compile(compiled -> {
            @SuppressWarnings("unchecked")
            ApplicationContextInitializer<GenericApplicationContext> beans =
                    compiled.getInstance(ApplicationContextInitializer.class, initializer.toString());
            try (GenericApplicationContext fresh = new GenericApplicationContext()) {
                set(fresh.getEnvironment());
                beans.initialize(fresh);
                fresh.refresh();
                assertThat(fresh.getBean(Jobs.class).run()).isEqualTo("job");
                assertThat(fresh.getBean(LockClient.class)).isNotSameAs(fresh.getBean("audit"));
            }
        });
    }
}
