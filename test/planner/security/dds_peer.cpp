// A participant of Fast DDS 2 with the keys of one enclave; bound to the loopback.
//
// Arguments: the enclave's folder, or - for none, and the domain. Reads one order a line and
// answers each with one line:
//   pub TOPIC, sub TOPIC   whether it may: allowed or refused
//   hear TOPIC             listens from now on: allowed or refused
//   send TOPIC SECONDS     sends to whoever is found meanwhile: to how many
//   heard                  how many messages came so far
#include <chrono>
#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/log/Log.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>

using namespace eprosima::fastdds::dds;
using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::SerializedPayload_t;

class NumberType : public TopicDataType {
 public:
  NumberType() {
    setName("Number");
    m_typeSize = 8;
    m_isGetKeyDefined = false;
  }
  bool serialize(void* data, SerializedPayload_t* payload) override {
    payload->length = 8;
    std::memset(payload->data, 0, 8);
    payload->data[1] = 1;  // little endian
    std::memcpy(payload->data + 4, data, 4);
    return true;
  }
  bool deserialize(SerializedPayload_t* payload, void* data) override {
    std::memcpy(data, payload->data + 4, 4);
    return true;
  }
  std::function<uint32_t()> getSerializedSizeProvider(void*) override {
    return [] { return 8u; };
  }
  void* createData() override { return new uint32_t{}; }
  void deleteData(void* data) override { delete static_cast<uint32_t*>(data); }
  bool getKey(void*, InstanceHandle_t*, bool) override { return false; }
};

DomainParticipantQos qos_with(const std::string& enclave) {
  DomainParticipantQos qos;
  auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
  udp->interfaceWhiteList.push_back("127.0.0.1");
  qos.transport().use_builtin_transports = false;
  qos.transport().user_transports.push_back(udp);
  if (enclave == "-") return qos;
  auto& properties = qos.properties().properties();
  // As ROS 2's rmw_fastrtps names the files of an enclave.
  auto file = [&](const std::string& name, const std::string& path) {
    properties.emplace_back("dds.sec." + name, "file://" + enclave + "/" + path);
  };
  properties.emplace_back("dds.sec.auth.plugin", "builtin.PKI-DH");
  file("auth.builtin.PKI-DH.identity_ca", "identity_ca.cert.pem");
  file("auth.builtin.PKI-DH.identity_certificate", "cert.pem");
  file("auth.builtin.PKI-DH.private_key", "key.pem");
  properties.emplace_back("dds.sec.crypto.plugin", "builtin.AES-GCM-GMAC");
  properties.emplace_back("dds.sec.access.plugin", "builtin.Access-Permissions");
  file("access.builtin.Access-Permissions.permissions_ca", "permissions_ca.cert.pem");
  file("access.builtin.Access-Permissions.governance", "governance.p7s");
  file("access.builtin.Access-Permissions.permissions", "permissions.p7s");
  return qos;
}

int send(DataWriter* writer, double seconds) {
  int reached = 0;
  uint32_t number = 1;
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    PublicationMatchedStatus status;
    writer->get_publication_matched_status(status);
    reached = std::max(reached, static_cast<int>(status.current_count));
    if (reached > 0) writer->write(&number);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return reached;
}

int main(int, char** words) {
  // It would write between the answers.
  Log::ClearConsumers();
  auto* participant = DomainParticipantFactory::get_instance()->create_participant(
      std::stoi(words[2]), qos_with(words[1]));
  std::cout << (participant ? "joined" : "refused") << std::endl;
  if (!participant) return 1;
  TypeSupport type(new NumberType);
  type.register_type(participant);
  auto* publisher = participant->create_publisher(PUBLISHER_QOS_DEFAULT);
  auto* subscriber = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
  DataReader* listens = nullptr;
  int heard = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream order(line);
    std::string what, name;
    double seconds = 0;
    order >> what >> name >> seconds;
    if (what == "heard") {
      uint32_t number;
      SampleInfo info;
      while (listens && listens->take_next_sample(&number, &info) == ReturnCode_t::RETCODE_OK)
        heard += info.valid_data;
      std::cout << heard << std::endl;
      continue;
    }
    auto* topic = participant->create_topic(name, "Number", TOPIC_QOS_DEFAULT);
    DataWriter* writer = nullptr;
    DataReader* reader = nullptr;
    if (what == "sub" || what == "hear")
      reader = subscriber->create_datareader(topic, DATAREADER_QOS_DEFAULT);
    else
      writer = publisher->create_datawriter(topic, DATAWRITER_QOS_DEFAULT);
    if (what == "send" && writer)
      std::cout << send(writer, seconds) << std::endl;
    else
      std::cout << (writer || reader ? "allowed" : "refused") << std::endl;
    if (what == "hear") {
      listens = reader;
      continue;
    }
    if (writer) publisher->delete_datawriter(writer);
    if (reader) subscriber->delete_datareader(reader);
    participant->delete_topic(topic);
  }
  std::cout.flush();
  _Exit(0);
}
