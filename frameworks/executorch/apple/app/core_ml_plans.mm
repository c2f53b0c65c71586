#include "core_ml_plans.h"

#import <CoreML/CoreML.h>
#import <objc/runtime.h>

#include <optional>
#include <string>

namespace {

constexpr int64_t kLimit = 60 * NSEC_PER_SEC; // for one plan

using LoadModel = MLModel* (*)(id, SEL, NSURL*, MLModelConfiguration*, NSError**);

LoadModel load_model = nullptr;

// The delegate does not tell which files it made of its part of the program, nor for which devices. But it has to
// load them.
NSMutableArray<NSArray*>* loaded_models() {
  static NSMutableArray<NSArray*>* const models = [NSMutableArray array];
  return models;
}

MLModel* load_and_remember(id self, SEL command, NSURL* url, MLModelConfiguration* configuration, NSError** error) {
  MLModel* const model = load_model(self, command, url, configuration, error);
  if (model != nil) {
    @synchronized(loaded_models()) {
      [loaded_models() addObject:@[ url, [configuration copy] ?: [[MLModelConfiguration alloc] init] ]];
    }
  }
  return model;
}

API_AVAILABLE(ios(17.4))
std::string name_of(id<MLComputeDeviceProtocol> device) {
  if ([device isKindOfClass:[MLNeuralEngineComputeDevice class]]) {
    return "neural_engine";
  }
  if ([device isKindOfClass:[MLGPUComputeDevice class]]) {
    return "gpu";
  }
  return [device isKindOfClass:[MLCPUComputeDevice class]] ? "cpu" : "unknown_device";
}

API_AVAILABLE(ios(17.4))
void count(MLComputePlanDeviceUsage* usage, std::map<std::string, int64_t>& operators) {
  if (usage != nil) { // constants have none
    ++operators[name_of(usage.preferredComputeDevice)];
  }
}

API_AVAILABLE(ios(17.4))
void count_block(MLComputePlan* plan, MLModelStructureProgramBlock* block, std::map<std::string, int64_t>& operators) {
  for (MLModelStructureProgramOperation* operation in block.operations) {
    count([plan computeDeviceUsageForMLProgramOperation:operation], operators);
    for (MLModelStructureProgramBlock* inner in operation.blocks) {
      count_block(plan, inner, operators);
    }
  }
}

API_AVAILABLE(ios(17.4))
app::DevicePlan count_operators(MLComputePlan* plan) {
  std::map<std::string, int64_t> operators;
  for (MLModelStructureProgramFunction* function in plan.modelStructure.program.functions.allValues) {
    count_block(plan, function.block, operators);
  }
  for (MLModelStructureNeuralNetworkLayer* layer in plan.modelStructure.neuralNetwork.layers) {
    count([plan computeDeviceUsageForNeuralNetworkLayer:layer], operators);
  }
  return operators.empty() ? std::nullopt : app::DevicePlan(operators);
}

API_AVAILABLE(ios(17.4))
app::DevicePlan read_plan(NSURL* url, MLModelConfiguration* configuration) {
  __block MLComputePlan* plan = nil;
  const dispatch_semaphore_t done = dispatch_semaphore_create(0);
  [MLComputePlan loadContentsOfURL:url
                     configuration:configuration
                 completionHandler:^(MLComputePlan* loaded, NSError*) {
                   plan = loaded;
                   dispatch_semaphore_signal(done);
                 }];
  const bool is_late = dispatch_semaphore_wait(done, dispatch_time(DISPATCH_TIME_NOW, kLimit)) != 0;
  return is_late || plan == nil ? std::nullopt : count_operators(plan);
}

} // namespace

namespace app {

void remember_core_ml_models() {
  const Method method =
      class_getClassMethod([MLModel class], @selector(modelWithContentsOfURL:configuration:error:));
  if (method != nullptr && load_model == nullptr) {
    load_model = reinterpret_cast<LoadModel>(method_getImplementation(method));
    method_setImplementation(method, reinterpret_cast<IMP>(load_and_remember));
  }
}

std::vector<DevicePlan> read_core_ml_plans() {
  NSArray<NSArray*>* models = nil;
  @synchronized(loaded_models()) {
    models = [loaded_models() copy];
  }
  std::vector<DevicePlan> plans;
  for (NSArray* model in models) {
    DevicePlan plan;
    if (@available(iOS 17.4, *)) {
      plan = read_plan(model[0], model[1]);
    }
    plans.push_back(plan);
  }
  return plans;
}

} // namespace app
